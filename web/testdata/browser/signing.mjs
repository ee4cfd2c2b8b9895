// Signs what a command sends, on the page that the command serves, with a wallet in a browser.
//
// usage: node signing.mjs CHROMIUM LINK KEYPAIR_FILE SENTENCES [FOLDER]; SENTENCES is a JSON list with a text of the effects of each
// transaction that comes; FOLDER takes a screenshot.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { begin, heading } from './lib.mjs';
import { install, keyOf } from './wallets.mjs';

const [executablePath, link, keyFile, sentences, folder] = process.argv.slice(2);
const { origin } = new URL(link);
const { tab, shot, look, step, end } = await begin(executablePath, origin, folder);
const key = keyOf(JSON.parse(readFileSync(keyFile, 'utf8')).slice(0, 32));

// Without the code of the link there is nothing to sign.
const stranger = await tab();
await stranger.goto(`${origin}/#code=AAAA`);
await stranger.getByRole('alert').getByText('the address is used already').waitFor();
await stranger.context().close();

const page = await tab();
const behave = {};
await install(page, { name: 'Other wallet', key: keyOf(randomBytes(32)) });
const asked = await install(page, { name: 'Test wallet', key, behave });
await page.goto(link);
await heading(page, 'Connect a wallet');
assert.equal(new URL(page.url()).hash, '', 'the code is out of the address');
await page.getByRole('button', { name: 'Connect Other wallet' }).click();
await page.getByRole('alert').getByText('the wallet gives').waitFor();
await look(page, 'connect');
await page.getByRole('button', { name: 'Connect Test wallet' }).click();
step('connected; another account is refused');

let tried = false;
for (const sentence of JSON.parse(sentences)) {
  await heading(page, 'Sign this?', 30_000);
  await page.getByText(sentence).waitFor();
  if (!tried) {
    tried = true;
    await look(page, 'sign');
    await shot(page, 'page-signing');
    const sign = page.getByRole('button', { name: 'Sign with Test wallet' });
    behave.refuse = true;
    await sign.click();
    await page.getByRole('alert').getByText('the wallet has not signed: User rejected the request.').waitFor();
    behave.refuse = false;
    behave.change = true;
    await sign.click();
    await page.getByRole('alert').getByText('the wallet has signed another transaction than the one that was shown').waitFor();
    behave.change = false;
    step('a wallet that refuses, and one that signs something else');
    await page.waitForTimeout(6_000); // the person takes a while: the transaction is built anew before the wallet is asked
    const before = asked.length;
    await sign.click();
    await page.getByText(/^(Signed\.|The command has ended)/).or(page.getByRole('heading', { name: 'Sign this?' })).first().waitFor();
    await page.waitForFunction(() => !document.querySelector('[role=alert]'));
    for (let n = 0; asked.length === before; n++) {
      assert.ok(n < 100, 'the wallet was not asked');
      await page.waitForTimeout(100);
    }
    const hash = (n) => Buffer.from(asked[n].bytes).toString('hex');
    assert.notEqual(hash(before), hash(before - 1), 'with a newer blockhash');
  } else {
    await page.getByRole('button', { name: 'Sign with Test wallet' }).click();
  }
  step(`signed: ${sentence}`);
  await page.getByText(sentence).waitFor({ state: 'detached' }); // the next transaction may be shown by now
}
await heading(page, 'Done', 30_000);
await end();
