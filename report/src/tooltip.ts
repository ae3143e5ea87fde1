import { h } from "./dom";

/** One small box that follows the pointer or the focus. */
class Tooltip {
  private readonly box = h("div", { class: "tooltip", role: "status", hidden: true });

  attach(): void {
    document.body.append(this.box);
  }

  show(lines: string[], x: number, y: number): void {
    this.box.replaceChildren(...lines.map((line, i) => h("div", { class: i === 0 ? "strong" : "" }, line)));
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
