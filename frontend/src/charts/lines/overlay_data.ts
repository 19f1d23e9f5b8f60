/** What a second figure over the axis of a line chart is given as. */

export interface OverlayPoint {
  segment: number;
  /** In the unit of the segment. */
  at: number;
  value: number;
}

export interface Overlay {
  name: string;
  /** Along the axis. */
  points: readonly OverlayPoint[];
}

/** Room for its own axis, px. */
export const OVERLAY_PX = 58;
