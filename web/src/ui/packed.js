// Columns of numbers packed by the report's builder: base64 of zlib of typed arrays end to end.

const ARRAYS = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f32: Float32Array, f64: Float64Array };

// Inflate a pack; `directory` gives each column's type, byte offset and number of items.
export async function unpack(text, directory) {
  const names = Object.keys(directory ?? {});
  if (!names.length) return {};
  const stream = new Blob([fromBase64(text.trim())]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  const columns = {};
  for (const name of names) {
    const { type, offset, length, fill } = directory[name];
    columns[name] = fill === undefined ? new ARRAYS[type](buffer, offset, length) : new ARRAYS[type](length).fill(fill);
  }
  return columns;
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i += 1) bytes[i] = raw.charCodeAt(i);
  return bytes;
}

// A packed table of strings: decoded one at a time, when asked for.
export function stringTable(ends, data) {
  const decoder = new TextDecoder();
  const cache = new Map();
  return {
    length: ends.length,
    get(index) {
      let text = cache.get(index);
      if (text === undefined) {
        text = decoder.decode(data.subarray(index ? ends[index - 1] : 0, ends[index]));
        cache.set(index, text);
      }
      return text;
    },
  };
}
