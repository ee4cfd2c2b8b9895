// Wallets for tests: each registers itself on the page by the wallet standard. The key stays here, outside of the browser.
import { createPrivateKey, createPublicKey, sign } from 'node:crypto';

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

function base58(bytes) {
  let n = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  let out = '';
  for (; n > 0n; n /= 58n) out = alphabet[Number(n % 58n)] + out;
  for (const b of bytes) {
    if (b !== 0) break;
    out = `1${out}`;
  }
  return out;
}

// keyOf is the key of a seed of 32 bytes, with its address.
export function keyOf(seed) {
  const key = createPrivateKey({ key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), Buffer.from(seed)]), format: 'der', type: 'pkcs8' });
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32);
  return { publicKey: [...publicKey], address: base58(publicKey), sign: (bytes) => [...sign(null, Buffer.from(bytes), key)] };
}

// install gives a page a wallet. asked notes what it was asked to sign; behave.refuse has it refuse, behave.change has it
// sign another transaction.
export async function install(page, { name, key, signIn = false, chain = 'solana:localnet', asked = [], behave = {} }) {
  await page.exposeFunction(`sign_${name.replace(/\W/g, '_')}`, (what, bytes, more) => {
    asked.push({ what, bytes, more });
    if (behave.refuse) throw new Error('User rejected the request.');
    if (behave.change && what === 'transaction') {
      bytes[bytes.length - 1] ^= 1;
      return { bytes, signature: key.sign(bytes) };
    }
    return { bytes, signature: key.sign(bytes) };
  });
  await page.addInitScript(({ name, address, publicKey, signIn, chain }) => {
    const ask = (what, bytes, more) => globalThis[`sign_${name.replace(/\W/g, '_')}`](what, [...bytes], more);
    const account = Object.freeze({ address, publicKey: new Uint8Array(publicKey), chains: [chain], features: [] });
    const features = {
      'standard:connect': { version: '1.0.0', connect: async () => ({ accounts: [account] }) },
      'standard:events': { version: '1.0.0', on: () => () => {} },
      'solana:signTransaction': {
        version: '1.0.0', supportedTransactionVersions: ['legacy', 0],
        signTransaction: async ({ account: by, transaction, chain: on }) => {
          if (by !== account || on !== chain) throw new Error('not this account, or not this chain');
          const head = 1 + 64 * transaction[0]; // the wallet pays, and signs first
          const { bytes, signature } = await ask('transaction', transaction.slice(head), {});
          const signedTransaction = new Uint8Array(head + bytes.length);
          signedTransaction.set(transaction.slice(0, head), 0);
          signedTransaction.set(signature, 1);
          signedTransaction.set(bytes, head);
          return [{ signedTransaction }];
        },
      },
    };
    if (signIn) {
      features['solana:signIn'] = {
        version: '1.0.0', signIn: async (input) => {
          const fields = [['Version', input.version], ['Chain ID', input.chainId], ['Nonce', input.nonce], ['Issued At', input.issuedAt], ['Expiration Time', input.expirationTime]];
          const text = `${input.domain} wants you to sign in with your Solana account:\n${input.address}\n\n${input.statement}\n\n${fields.map(([k, v]) => `${k}: ${v}`).join('\n')}`;
          const message = new TextEncoder().encode(text);
          const { signature } = await ask('sign-in', message, { domain: input.domain, host: location.host });
          return [{ account, signedMessage: message, signature: new Uint8Array(signature) }];
        },
      };
    } else {
      features['solana:signMessage'] = {
        version: '1.0.0', signMessage: async ({ message }) => {
          const { signature } = await ask('message', message, {});
          return [{ signedMessage: message, signature: new Uint8Array(signature) }];
        },
      };
    }
    const wallet = Object.freeze({ version: '1.0.0', name, icon: 'data:image/svg+xml;base64,', chains: [chain], accounts: [account], features });
    const register = (api) => api.register(wallet);
    addEventListener('wallet-standard:app-ready', (e) => register(e.detail));
    dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: register }));
  }, { name, address: key.address, publicKey: key.publicKey, signIn, chain });
  return asked;
}
