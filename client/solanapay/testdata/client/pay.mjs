// Follows a Solana Pay link as a wallet does, with the stock client: it parses the link, fetches and checks the
// transaction, signs it, sends it, and waits.
// usage: node pay.mjs LINK RPC KEYPAIR_FILE [fetch]      with fetch, nothing is signed
import { readFileSync } from 'node:fs';
import { fetchTransaction, parseURL } from '@solana/pay';
import { Connection, Keypair } from '@solana/web3.js';
import { send } from './send.mjs';

const [link, rpc, file, only] = process.argv.slice(2);
const key = Keypair.fromSecretKey(Uint8Array.from(JSON.parse(readFileSync(file, 'utf8'))));
const { link: url } = parseURL(link);
if (!url) throw new Error('the link is no transaction request');
const asked = await (await fetch(url, { headers: { Accept: 'application/json' } })).json();
if (typeof asked.label !== 'string' || !/^https:\/\/.*\.(svg|png|webp)$/.test(asked.icon)) throw new Error(`no label or icon: ${JSON.stringify(asked)}`);
const icon = await fetch(asked.icon);
if (!icon.ok || icon.headers.get('content-type') !== 'image/svg+xml') throw new Error('the icon is no picture');
const connection = new Connection(rpc, 'confirmed');
const transaction = await fetchTransaction(connection, key.publicKey, url, { commitment: 'confirmed' });
const out = { label: asked.label, signers: transaction.signatures.map((s) => s.publicKey.toBase58()), instructions: transaction.instructions.length };
if (only !== 'fetch') out.signature = await send(connection, transaction, key);
console.log(JSON.stringify(out));
process.exit(0); // the connection keeps its socket
