/** The timeline's keys and gestures, for the sheet of shortcuts. */

export interface Shortcut {
  /** As they stand on the keyboard; one of them, or "Shift + drag". */
  keys: readonly string[];
  what: string;
}

export const TIMELINE_SHORTCUTS: readonly Shortcut[] = [
  { keys: ["W", "S"], what: "Zoom in and out" },
  { keys: ["Ctrl + wheel"], what: "Zoom at the pointer" },
  { keys: ["A", "D"], what: "Move left and right" },
  { keys: ["Shift + ←", "Shift + →"], what: "Move left and right" },
  { keys: ["[", "]"], what: "Previous and next step" },
  { keys: ["0", "Home"], what: "Show the whole step" },
  { keys: ["←", "→", "↑", "↓"], what: "Select the next event in that direction" },
  { keys: ["Enter", "Space"], what: "Open the selected event; at a track’s name, fold or open the track" },
  { keys: ["F"], what: "Zoom to the selected event; at a track’s name, fold or open the track" },
  { keys: ["H"], what: "Go to the name of the track" },
  { keys: ["←", "→"], what: "At a track’s name: fold and open the track" },
  { keys: ["P"], what: "Pin the track at the top, or unpin it" },
  { keys: ["T"], what: "Filter the tracks by name or kind" },
  { keys: ["M"], what: "Measure the selected event, or what is visible" },
  { keys: ["Shift + M"], what: "Extend the measured range to the selected event" },
  { keys: ["Shift + drag"], what: "Measure a range" },
  { keys: ["Z"], what: "Zoom to the measured range" },
  { keys: ["/"], what: "Find events by name in the whole recording" },
  { keys: ["F3", "Shift + F3"], what: "Go to the next and the previous event found" },
  { keys: ["Esc"], what: "Clear the measured range, then close the event" },
];
