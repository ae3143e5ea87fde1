import { h } from "./dom";

/** A line is a text, or parts of it: numbers are in elements that state their source. */
export type Line = string | (string | Node)[];

/** A small box that follows the pointer or the focus. */
class Tooltip {
  private readonly box = h("div", { class: "tooltip", role: "status", hidden: true });

  /** Also shows the meaning of every element with `data-definition`, under the pointer or with the focus. */
  attach(): void {
    document.body.append(this.box);
    const meaning = (event: Event) => (event.target as Element | null)?.closest?.("[data-definition]") ?? null;
    document.addEventListener("pointerover", (event) => {
      const found = meaning(event);
      if (found && event.pointerType !== "touch") this.define(found);
    });
    document.addEventListener("pointerout", (event) => {
      if (meaning(event)) this.hide();
    });
    document.addEventListener("focusin", (event) => {
      const found = meaning(event);
      if (found?.matches(":focus-visible")) this.define(found);
    });
    document.addEventListener("focusout", (event) => {
      if (meaning(event)) this.hide();
    });
    document.addEventListener("pointerdown", (event) => {
      if (meaning(event)) this.hide();
    });
  }

  private define(element: Element): void {
    const area = element.getBoundingClientRect();
    this.show(["", element.getAttribute("data-definition")!], area.left, area.bottom - 8);
  }

  show(lines: Line[], x: number, y: number): void {
    const parts = lines.map((line, i) =>
      line.length ? h("div", { class: i === 0 ? "strong" : "" }, ...(typeof line === "string" ? [line] : line)) : "",
    );
    this.box.replaceChildren(...parts);
    this.box.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.box;
    const left = x + 14 + width > innerWidth ? x - width - 10 : x + 14;
    const top = y + 14 + height > innerHeight ? y - height - 10 : y + 14;
    this.box.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(top, 4)}px)`;
  }

  hide(): void {
    this.box.hidden = true;
  }
}

export const tooltip = new Tooltip();
