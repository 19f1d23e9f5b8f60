/** The timeline's keys and gestures, for the list of shortcuts. */

export interface Shortcut {
  /** As labelled on the keyboard; each is an alternative, or a gesture such as "Shift + drag". */
  keys: readonly string[];
  what: string;
}

export const TIMELINE_SHORTCUTS: readonly Shortcut[] = [
  { keys: ["W", "S", "+", "-"], what: "Zoom in and out" },
  { keys: ["Ctrl + wheel"], what: "Zoom at the pointer" },
  { keys: ["A", "D"], what: "Move left and right" },
  { keys: ["Shift + ←", "Shift + →"], what: "The same" },
  { keys: ["[", "]"], what: "Previous and next step" },
  { keys: ["0", "Home"], what: "Show the whole step" },
  { keys: ["double click"], what: "Show the whole step; in the overview: the whole recording" },
  { keys: ["drag"], what: "Move; on the axis: zoom to a range" },
  { keys: ["0"], what: "In the overview: show the whole recording" },
  { keys: ["←", "→", "Page ↑", "Page ↓"], what: "In the overview: move what is visible" },
  { keys: ["↑", "↓"], what: "In the overview: zoom in and out" },
  { keys: ["←", "→", "↑", "↓"], what: "Select the event next to this one" },
  { keys: ["Enter", "Space"], what: "Open the event, or fold the track" },
  { keys: ["F"], what: "Zoom to the event, or fold the track" },
  { keys: ["H"], what: "Go to the name of the track" },
  { keys: ["←", "→"], what: "At a track’s name: fold and open the track" },
  { keys: ["P"], what: "Pin the track at the top, or unpin it" },
  { keys: ["T"], what: "Filter the tracks by name or kind" },
  { keys: ["M"], what: "Measure the event, or what is visible" },
  { keys: ["Shift + M"], what: "Extend the range to the event" },
  { keys: ["Shift + drag"], what: "Measure a range" },
  { keys: ["Z"], what: "Zoom to the measured range" },
  { keys: ["/"], what: "Find events by name" },
  { keys: ["F3", "Shift + F3"], what: "Next and previous event found" },
  { keys: ["Enter", "Shift + Enter"], what: "The same, in the field" },
  { keys: ["Esc"], what: "Clear the range, then close the event" },
];
