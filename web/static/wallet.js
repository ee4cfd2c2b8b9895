// The browser's wallets, found by the wallet standard: a wallet and the page tell each other of themselves by events of the
// window, whichever comes first. The page asks a wallet to sign; it never sees a key.
const wallets = [];
const where = 'gantry.wallet';
let connected = null;

// used are the features that the page asks for.
const connectFeature = 'standard:connect';
const transactionFeature = 'solana:signTransaction';

function register(...added) {
  for (const w of added) {
    if (!wallets.includes(w)) wallets.push(w);
  }
  dispatchEvent(new CustomEvent('gantry-wallets'));
  return () => {
    for (const w of added) if (wallets.includes(w)) wallets.splice(wallets.indexOf(w), 1);
    if (added.includes(connected?.wallet)) connected = null;
    dispatchEvent(new CustomEvent('gantry-wallets'));
  };
}

// listen finds wallets. It is called once.
export function listen() {
  const api = Object.freeze({ register });
  addEventListener('wallet-standard:register-wallet', (e) => {
    if (typeof e.detail === 'function') e.detail(api);
  });
  dispatchEvent(new CustomEvent('wallet-standard:app-ready', { detail: api }));
}

export { register };

// usable are the wallets that can sign for a cluster.
export const usable = (chain) => wallets.filter((w) => w.chains?.includes(chain) && w.features?.[connectFeature] && w.features[transactionFeature]);

// connect asks a wallet for its account on a cluster.
export async function connect(wallet, chain, silent) {
  const { accounts } = await wallet.features[connectFeature].connect(silent ? { silent: true } : undefined);
  const account = (accounts ?? wallet.accounts).find((a) => a.chains.includes(chain));
  if (!account) {
    if (silent) return null;
    throw new Error(`${wallet.name} has given no account of ${chain}: allow one there, or switch its network`);
  }
  connected = { wallet, account, chain };
  sessionStorage.setItem(where, wallet.name);
  return connected;
}

// current is the wallet that is connected, if any. After a reload, one that the person has connected before is asked
// without a question.
export async function current(chain) {
  if (connected) return connected;
  const name = sessionStorage.getItem(where);
  const known = name && usable(chain).find((w) => w.name === name);
  if (!known) return null;
  try {
    return await connect(known, chain, true);
  } catch {
    return null; // it is offered to be connected again
  }
}

export function disconnect() {
  connected = null;
  sessionStorage.removeItem(where);
}

export const base64 = (bytes) => btoa(Array.from(bytes, (b) => String.fromCharCode(b)).join(''));

export const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

// refused says in one sentence that the wallet has not done what it was asked for.
function refused(what, err) {
  return new Error(`the wallet has not ${what}: ${String(err?.message ?? err).slice(0, 200)}`);
}

// signText has the wallet sign a challenge of the server: by its own sign-in, which compares the name of the page's host,
// or as a text.
export async function signText({ wallet, account }, challenge) {
  const { message, ...input } = challenge;
  try {
    if (wallet.features['solana:signIn']) {
      const [out] = await wallet.features['solana:signIn'].signIn(input);
      return { message: base64(out.signedMessage), signature: base64(out.signature) };
    }
    const [out] = await wallet.features['solana:signMessage'].signMessage({ account, message: new TextEncoder().encode(message) });
    return { message: base64(out.signedMessage), signature: base64(out.signature) };
  } catch (err) {
    throw refused('signed in', err);
  }
}

export const signsTexts = (wallet) => Boolean(wallet.features['solana:signIn'] || wallet.features['solana:signMessage']);

// signTransaction has the wallet sign a transaction, which the server sends.
export async function signTransaction({ wallet, account }, transaction, chain) {
  try {
    const [out] = await wallet.features[transactionFeature].signTransaction({ account, transaction: bytes(transaction), chain });
    return base64(out.signedTransaction);
  } catch (err) {
    throw refused('signed', err);
  }
}
