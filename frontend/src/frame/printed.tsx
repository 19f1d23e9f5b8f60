import { useContext } from "preact/hooks";
import { AboutContext, footOf } from "../components/about";

/** On paper no bar says what is shown. */
export function PrintedFoot() {
  return <p class="printed">{footOf(useContext(AboutContext))}</p>;
}
