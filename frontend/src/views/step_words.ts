/** What stands under the title of a picture with a bar for each step. */
export const OPENS_STEP = "a double click, or Enter, opens a step in the Timeline";
