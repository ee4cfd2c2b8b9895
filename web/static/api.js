// Speaks with the server. The token is kept for this tab only, and goes to this server only.

const where = 'gantry.token';

// signInPath is where a code is exchanged. One that is refused says nothing of the token that there is.
export const signInPath = '/page/session';

export const signedIn = () => sessionStorage.getItem(where) !== null;

export const keep = (token) => sessionStorage.setItem(where, token);

export const forget = () => sessionStorage.removeItem(where);

// Problem is an error as the API describes it (RFC 9457), or what kept an answer from coming.
export class Problem extends Error {
  constructor(body, status) {
    super(body.detail ?? 'the server has given no reason');
    this.body = body;
    this.status = status;
  }
}

// earlyFor is how long an answer of early.js counts, milliseconds.
const earlyFor = 10_000;

// early is an answer that early.js has asked for with this token, once. A server that did not answer then is asked again.
function early(path, token) {
  const e = globalThis.early;
  if (!e || e.token !== token || Date.now() > e.at + earlyFor) return null;
  const answer = e.answers.get(path);
  e.answers.delete(path);
  return answer;
}

// send asks the server, with a token. A body is a file as it is, or becomes a document.
async function send(method, path, token, { body, headers, signal }) {
  const h = new Headers(headers);
  const file = body instanceof Blob;
  if (token) h.set('Authorization', `Bearer ${token}`);
  if (body !== undefined) h.set('Content-Type', file ? 'application/octet-stream' : 'application/json');
  try {
    const answer = method === 'GET' && await early(path, token);
    signal?.throwIfAborted();
    return answer || await fetch(path, { method, headers: h, body: body === undefined || file ? body : JSON.stringify(body), signal, cache: 'no-store', credentials: 'omit', redirect: 'error' });
  } catch (err) {
    if (err.name === 'AbortError') throw err;
    throw new Problem({ title: 'No answer', detail: `the server does not answer: ${err.message}`, nextStep: 'look whether gantry serve runs' }, 0);
  }
}

// ask sends a request and returns its answer's status and document.
export async function ask(method, path, options = {}) {
  const token = sessionStorage.getItem(where);
  return answered(path, token, await send(method, path, token, options));
}

// content is a file of the server's.
export async function content(path, signal) {
  const token = sessionStorage.getItem(where);
  const res = await send('GET', path, token, { signal });
  return res.ok ? res.blob() : answered(path, token, res);
}

// answered reads the document of an answer, which is an error where the server says so. A token that is refused is forgotten, unless
// the browser has signed in with another one meanwhile.
async function answered(path, token, res) {
  if (res.status === 204) return { status: 204 };
  let document;
  try {
    document = await res.json();
  } catch {
    throw new Problem({ title: 'No answer', detail: `the server has answered with status ${res.status} and no JSON`, nextStep: 'look at its log' }, res.status);
  }
  if (!res.ok) {
    if (res.status === 401 && path !== signInPath && token === sessionStorage.getItem(where)) {
      forget();
      dispatchEvent(new CustomEvent('gantry-out', { detail: document }));
    }
    throw new Problem(document, res.status);
  }
  return { status: res.status, body: document };
}

export const get = async (path, signal) => (await ask('GET', path, { signal })).body;

// events reads server-sent events with the token, which a browser's own reader of them cannot send. on has a function for
// each kind, which gets the document and the event's id. It ends with the stream.
export async function events(path, headers, signal, on) {
  const h = new Headers({ ...headers, Authorization: `Bearer ${sessionStorage.getItem(where)}` });
  const res = await fetch(path, { headers: h, signal, cache: 'no-store', credentials: 'omit', redirect: 'error' });
  if (!res.ok) throw new Problem(await res.json(), res.status);
  const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const parts = rest.split('\n\n');
    rest = parts.pop();
    for (const part of parts) {
      const fields = Object.fromEntries(part.split('\n').filter((l) => !l.startsWith(':')).map((l) => [l.slice(0, l.indexOf(':')), l.slice(l.indexOf(':') + 1).trimStart()]));
      if (Object.hasOwn(on, fields.event)) on[fields.event](JSON.parse(fields.data), fields.id);
    }
  }
}

// webSocket opens one to this server. The token goes as a protocol's name: a browser sends no other header with it.
export function webSocket(path) {
  const at = new URL(path, location.href);
  at.protocol = at.protocol === 'https:' ? 'wss:' : 'ws:';
  const s = new WebSocket(at, ['gantry.terminal', `gantry.bearer.${sessionStorage.getItem(where)}`]);
  s.binaryType = 'arraybuffer';
  return s;
}
