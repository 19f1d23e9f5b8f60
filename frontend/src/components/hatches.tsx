import { COLOURS } from "../colour";

/** The stripes that SVG pictures fill with, once in the document: `fill="url(#hatch-data)"`. */
export function Hatches() {
  return (
    <svg width="0" height="0" style={{ position: "absolute" }} aria-hidden="true">
      <defs>
        {COLOURS.map((colour) => (
          <pattern key={colour} id={`hatch-${colour}`} width="5" height="5" patternUnits="userSpaceOnUse">
            <rect width="5" height="5" fill={`var(--c-${colour})`} fill-opacity=".22" />
            <path d="M-1 1l2-2M0 5l5-5M4 6l2-2" stroke={`var(--c-${colour})`} stroke-width="1.3" />
          </pattern>
        ))}
      </defs>
    </svg>
  );
}
