import { Dropdown } from "../../components/popup";
import { shortened } from "../../format";

interface ScalarPickerProps {
  tags: readonly string[];
  chosen: string | null;
  choose(tag: string | null): void;
}

/** Characters of a tag on the button. */
const TAG_LENGTH = 22;

/** Which of the job's own scalars is drawn too. */
export function ScalarPicker({ tags, chosen, choose }: ScalarPickerProps) {
  return (
    <div class="chips scalar-picker">
      <Dropdown name={chosen === null ? "Add a scalar…" : shortened(chosen, TAG_LENGTH)} search="Search scalars" right>
        {(typed, close) => {
          const pick = (tag: string | null) => {
            close();
            choose(tag);
          };
          return (
            <>
              <button aria-pressed={chosen === null} onClick={() => pick(null)}>
                none
              </button>
              {tags
                .filter((tag) => tag.toLowerCase().includes(typed))
                .map((tag) => (
                  <button key={tag} aria-pressed={tag === chosen} onClick={() => pick(tag)}>
                    {tag}
                  </button>
                ))}
            </>
          );
        }}
      </Dropdown>
    </div>
  );
}
