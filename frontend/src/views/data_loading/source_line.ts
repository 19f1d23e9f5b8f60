const FRAME = /^(?:.*\/)?([^/]+)\((\d+)\): (.*)$/s;

/** "torchvision/transforms/functional.py(138): to_tensor" is "functional.py:138 to_tensor" where room is scarce: what tells
 * lines apart stands at the end, which clipping would take. */
export const shortLine = (line: string): string => line.replace(FRAME, "$1:$2 $3");
