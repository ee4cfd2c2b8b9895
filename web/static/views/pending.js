// Remembers a purchase from before it is sent until it has come to something. It is kept for this tab: a reload goes on with
// it under the same Idempotency-Key, with which the server buys once. Not for longer: the environment of a job may hold
// passwords.

const where = 'gantry.purchase';

export function pending() {
  const raw = sessionStorage.getItem(where);
  return raw && JSON.parse(raw);
}

export const over = () => sessionStorage.removeItem(where);

// newKey is an Idempotency-Key.
export const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, '0')).join('');

// begin notes the request with a key, then has it sent to a path.
export function begin(request, path = '/v1/orders', key = newKey()) {
  sessionStorage.setItem(where, JSON.stringify({ key, path, request }));
  location.hash = `#/purchase/${key}`;
}
