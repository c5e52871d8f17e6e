// Cuts raw JSON into its members without reading the values: what is compared are the bytes.

/** The index after the value that begins at `at`. */
function end(text, at) {
  if (text[at] === '"') {
    for (let i = at + 1; i < text.length; i++) {
      if (text[i] === '\\') i++;
      else if (text[i] === '"') return i + 1;
    }
    throw new Error('string without an end');
  }
  if (text[at] === '{' || text[at] === '[') {
    let depth = 0;
    for (let i = at; i < text.length; i++) {
      if (text[i] === '"') i = end(text, i) - 1;
      else if (text[i] === '{' || text[i] === '[') depth++;
      else if (text[i] === '}' || text[i] === ']') {
        depth--;
        if (depth === 0) return i + 1;
      }
    }
    throw new Error('value without an end');
  }
  let i = at;
  while (i < text.length && !',]} \t\r\n'.includes(text[i])) i++;
  return i;
}

const space = (text, at) => {
  let i = at;
  while (' \t\r\n'.includes(text[i]) && i < text.length) i++;
  return i;
};

/** The members of an object, in their order: [[key, raw value], …]. */
export function members(text) {
  const found = [];
  let at = space(text, 0);
  if (text[at] !== '{') throw new Error(`no object: ${text.slice(0, 80)}`);
  at = space(text, at + 1);
  while (text[at] !== '}') {
    const keyEnd = end(text, at);
    const key = JSON.parse(text.slice(at, keyEnd));
    at = space(text, keyEnd);
    at = space(text, at + 1);
    const valueEnd = end(text, at);
    found.push([key, text.slice(at, valueEnd)]);
    at = space(text, valueEnd);
    if (text[at] === ',') at = space(text, at + 1);
  }
  return found;
}

/** The raw elements of an array. */
export function elements(text) {
  const found = [];
  let at = space(text, 0);
  if (text[at] !== '[') throw new Error(`no array: ${text.slice(0, 80)}`);
  at = space(text, at + 1);
  while (text[at] !== ']') {
    const valueEnd = end(text, at);
    found.push(text.slice(at, valueEnd));
    at = space(text, valueEnd);
    if (text[at] === ',') at = space(text, at + 1);
  }
  return found;
}

/** The raw value of one member, or undefined. */
export const member = (text, key) => members(text).find(([name]) => name === key)?.[1];

/** The members without some keys. */
export const without = (text, ...keys) => members(text).filter(([name]) => !keys.includes(name));
