/** Saves a file for the reader; nothing leaves the machine. */
export function saveBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

export function saveText(name: string, text: string, type: string): void {
  saveBlob(name, new Blob([text], { type }));
}

/** A name that every file system accepts. */
export function fileName(...parts: string[]): string {
  const text = parts.filter((part) => part).join("-");
  return text.replace(/[^A-Za-z0-9._+-]+/g, "_").replace(/^[._]+/, "") || "ropewalk";
}
