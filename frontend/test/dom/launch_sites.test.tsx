import { fireEvent, render, screen } from "@testing-library/preact";
import { expect, test } from "vitest";
import { LaunchSites } from "../../src/views/gpu/detail";
import { DETAIL, gpuTab } from "../fixtures/gpu";

test("an opened kernel leads to the tables by the op, the module and the line that launch it", () => {
  const requests: unknown[] = [];
  const tab = { ...gpuTab({ opened: DETAIL.name }), update: (changes: unknown) => requests.push(changes) };
  render(<LaunchSites sites={DETAIL.sites} noLines={undefined} tab={tab} />);
  for (const name of ["aten::mm", "Linear_0", "net.py:7 forward"])
    fireEvent.click(screen.getByRole("button", { name }));
  expect(requests).toEqual([
    { by: "name,op", kernel: '"aten::mm"', opened: null },
    { by: "module", kernel: '"Linear_0"', opened: null },
    { by: "line", kernel: '"net.py(7): forward"', opened: null },
  ]);
});
