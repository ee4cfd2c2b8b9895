// A wallet for development: its key is a file of a local network. It is served for local networks only, where money is
// worth nothing. The key stays in this tab, and is gone when the page is loaded anew.
import { register } from '../wallet.js';

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

function base58(bytes) {
  let n = bytes.reduce((sum, b) => sum * 256n + BigInt(b), 0n);
  let out = '';
  for (; n > 0n; n /= 58n) out = alphabet[Number(n % 58n)] + out;
  for (const b of bytes) {
    if (b !== 0) break;
    out = `1${out}`;
  }
  return out;
}

// open registers a wallet whose key is the text of a keypair file of Solana's tools: 64 numbers, seed and public key.
export async function open(text, chain) {
  let raw;
  try {
    raw = Uint8Array.from(JSON.parse(text));
  } catch {
    raw = new Uint8Array();
  }
  if (raw.length !== 64) throw new Error('the file is no keypair: a list of 64 numbers, as solana-keygen and gantry-localnet write it');
  const prefix = [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
  const key = await crypto.subtle.importKey('pkcs8', Uint8Array.from([...prefix, ...raw.slice(0, 32)]), 'Ed25519', false, ['sign']);
  const publicKey = raw.slice(32);
  raw.fill(0, 0, 32);
  const sign = async (message) => new Uint8Array(await crypto.subtle.sign('Ed25519', key, message));
  const account = { address: base58(publicKey), publicKey, chains: [chain], features: ['solana:signMessage', 'solana:signTransaction'] };
  const wallet = {
    version: '1.0.0', name: 'Development wallet', icon: 'data:image/svg+xml;base64,', chains: [chain], accounts: [account],
    features: {
      'standard:connect': { version: '1.0.0', connect: async () => ({ accounts: [account] }) },
      'solana:signMessage': {
        version: '1.0.0', signMessage: (...inputs) => Promise.all(inputs.map(async ({ message }) => ({ signedMessage: message, signature: await sign(message) }))),
      },
      'solana:signTransaction': {
        version: '1.0.0', supportedTransactionVersions: ['legacy', 0],
        signTransaction: (...inputs) => Promise.all(inputs.map(async ({ transaction }) => {
          const signedTransaction = transaction.slice();
          signedTransaction.set(await sign(transaction.slice(1 + 64 * transaction[0])), 1); // one signature: the wallet pays
          return { signedTransaction };
        })),
      },
    },
  };
  register(wallet);
  return wallet;
}
