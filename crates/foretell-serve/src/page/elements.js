// Elements of the document, and what the server says, for all parts of the page.
import { address, shown, study } from "./state.js";

export const element = (tag, text, attributes = {}) => {
  const made = document.createElement(tag);
  if (text !== null && text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
};

export function row(texts, name) {
  const tr = document.createElement("tr");
  for (const text of texts) {
    const td = element(name, text);
    if (name === "th") td.scope = "col";
    tr.append(td);
  }
  return tr;
}

export function pairs(list, entries) {
  list.replaceChildren(
    ...entries.map(([name, value]) => {
      const div = document.createElement("div");
      div.append(element("dt", name), element("dd", shown(value)));
      return div;
    }),
  );
}

export const api = (path) => `/api/studies/${encodeURIComponent(study)}${path}`;
export const asks = async (path, query) => {
  const reply = await fetch(address(path, query)).catch(() => null);
  return reply && reply.ok ? reply.json() : null;
};
