// Takes the pictures of the documents that need a market of several machines: the market and Deploy. The others are those that
// the tests of the page take.
//
// usage: node pictures.mjs CHROMIUM LINK FOLDER; LINK is that of `gantry-localnet up --agents 5`, which ran for some minutes.
import { begin, heading, open } from './lib.mjs';

const [executablePath, link, folder] = process.argv.slice(2);
const { origin } = new URL(link);
const { tab, shot, step, end } = await begin(executablePath, origin, folder);
const page = await tab({ viewport: { width: 1280, height: 1000 } });
await page.goto(link);
await heading(page, 'Market');
await page.locator('.offers tbody tr').first().waitFor();
// The server looks once a minute at what keepers have checked.
for (let n = 0; n < 40 && await page.getByRole('img', { name: /^Checks by hour/ }).count() === 0; n++) {
  await page.waitForTimeout(6000);
  await page.reload();
  await page.locator('.offers tbody tr').first().waitFor();
}
await page.waitForTimeout(1500);
await shot(page, 'page-market');
step('the market');
await open(page, 'Deploy');
await page.getByRole('radiogroup', { name: 'Which GPU' }).getByRole('radio', { name: /A100/ }).first().click();
await page.getByLabel('Command', { exact: true }).fill('python train.py');
await page.getByLabel('Run for').fill('1');
await page.getByLabel('Unit of the time').selectOption('3600');
await page.getByLabel('Max price per GPU-hour').fill('1.60');
await page.locator('details.more > summary', { hasText: 'Advanced' }).click();
await page.getByLabel('Simulated GPUs too').check();
await page.locator('.best .meas').waitFor();
await page.locator('details.more > summary', { hasText: 'Advanced' }).click();
await shot(page, 'page-order');
step('Deploy');
await end();
