// Follows an address of an action as a site with blinks does, with the stock client: it reads the rules, the action and its picture, compares each answer
// with the types of the specification, presses a button, and does what the answer says.
// usage: node act.mjs ADDRESS RPC KEYPAIR_FILE BUTTON [VALUE]      VALUE is for the button's input
import { readFileSync } from 'node:fs';
import { createActionHeaders, encodeURL, fetchTransaction, parseURL } from '@solana/actions';
import { Connection, Keypair } from '@solana/web3.js';
import { send } from './send.mjs';
import { check } from './types.mjs';

const [address, rpc, file, label, value] = process.argv.slice(2);
const key = Keypair.fromSecretKey(Uint8Array.from(JSON.parse(readFileSync(file, 'utf8'))));
const { link } = parseURL(encodeURL({ link: new URL(address) }));
const wanted = createActionHeaders({ actionVersion: '2.4' });
const answers = [];

// ask sends a request from a page of another site, and checks what the specification wants of every answer.
async function ask(url, type, init = {}) {
  const r = await fetch(url, { ...init, headers: { Accept: 'application/json', Origin: 'https://blinks.example', ...init.headers } });
  const names = ['Access-Control-Allow-Origin', 'Access-Control-Allow-Methods', 'Access-Control-Allow-Headers', 'Access-Control-Expose-Headers', 'X-Action-Version'];
  for (const name of names) if (r.headers.get(name) !== wanted[name]) throw new Error(`${url}: ${name} is ${r.headers.get(name)}, not ${wanted[name]}`);
  if (!/^solana:[1-9A-HJ-NP-Za-km-z]{32}$/.test(r.headers.get('X-Blockchain-Ids'))) throw new Error(`${url}: no cluster`);
  if (init.method === 'OPTIONS') return null;
  if (!r.headers.get('Content-Type').startsWith('application/json')) throw new Error(`${url}: ${r.headers.get('Content-Type')}`);
  const answer = await r.json();
  if (!r.ok) {
    check([...answers, ['ActionError', answer]]);
    throw new Error(`${r.status}: ${answer.message}`);
  }
  answers.push([type, answer]);
  return answer;
}

const { rules } = await ask(new URL('/actions.json', link), 'ActionsJson');
const below = rules.map((r) => r.apiPath.replace(/\*\*$/, ''));
if (!below.some((b) => link.href.startsWith(b))) throw new Error(`${link} is not one of the actions ${below}`);
await ask(link, null, { method: 'OPTIONS' });
const shown = await ask(link, 'ActionGetResponse');
const icon = await fetch(shown.icon);
if (!icon.ok || icon.headers.get('content-type') !== 'image/svg+xml') throw new Error('the icon is no picture');
const button = shown.links.actions.find((a) => a.label === label);
if (!button) throw new Error(`no button ${label}: ${shown.links.actions.map((a) => a.label)}`);
let href = button.href;
for (const p of button.parameters ?? []) {
  if (!new RegExp(p.pattern).test(value)) throw new Error(p.patternDescription);
  href = href.replace(`{${p.name}}`, encodeURIComponent(value));
}
const url = new URL(href, link);
const body = { account: key.publicKey.toBase58() };
const answer = await ask(url, button.type === 'transaction' ? 'TransactionResponse' : 'ExternalLinkResponse', {
  method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
});
check(answers);
const out = { title: shown.title, description: shown.description, buttons: shown.links.actions.map((a) => a.label), message: answer.message, link: answer.externalLink };
if (answer.transaction) {
  const connection = new Connection(rpc, 'confirmed');
  const { transaction } = await fetchTransaction(connection, url, body, { commitment: 'confirmed' });
  out.signers = transaction.signatures.map((s) => s.publicKey.toBase58());
  out.instructions = transaction.instructions.map((i) => ({ program: i.programId.toBase58(), accounts: i.keys.map((k) => k.pubkey.toBase58()), data: i.data.toString('base64') }));
  out.signature = await send(connection, transaction, key);
}
console.log(JSON.stringify(out));
process.exit(0); // the connection keeps its socket
