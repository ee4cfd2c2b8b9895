// Tries the page's view of volumes in a browser, against a running `gantry serve` with a bucket on a local network whose machines run
// containers: a lease keeps one, uses it, leaves it, and it is deleted.
//
// usage: node volumes.mjs CHROMIUM LINK IMAGE [FOLDER]; FOLDER takes screenshots.
import assert from 'node:assert/strict';
import { advanced, begin, deploy, heading, open } from './lib.mjs';

const [executablePath, link, image, folder] = process.argv.slice(2);
const { origin } = new URL(link);
const { tab, shot, look, step, end } = await begin(executablePath, origin, folder);
const page = await tab();
await page.goto(link);
await heading(page, 'Market');
await open(page, 'Volumes');
await page.getByText(/gantry deploy --keep/).waitFor(); // nothing was kept yet
await look(page, 'no volumes');

await open(page, 'Deploy');
await page.getByLabel('Max price per GPU-hour').fill('3');
await page.getByLabel('Image', { exact: true }).fill(image);
await page.getByLabel('Command', { exact: true }).fill('put=/data/x,kept wait');
await advanced(page);
await page.getByLabel('Volume', { exact: true }).fill('data:32MiB');
await page.getByLabel('Keep the volume').check();
await page.getByLabel('Network').selectOption('none');
await page.getByLabel('Simulated GPUs too').check();
await deploy(page);
await heading(page, 'Lease', 90_000);
await page.getByRole('region', { name: 'Output of the job' }).getByText('waiting').waitFor({ timeout: 60_000 });
const lease = new URL(page.url()).hash;
step('a lease has the volume');

// While it is used it cannot be deleted, and the row leads to the lease.
await open(page, 'Volumes');
const row = page.getByRole('row', { name: /^data/ });
await row.getByText('32 MiB').waitFor();
assert.equal(await row.getByRole('button', { name: 'Delete volume data' }).count(), 0);
await look(page, 'volumes');
await row.locator('a.link').click(); // the other link of the lease leads to the explorer
await heading(page, 'Lease');
assert.equal(new URL(page.url()).hash, lease);
await page.getByRole('button', { name: /^Stop lease/ }).first().click();
await page.getByRole('button', { name: 'Stop the lease' }).click();
await page.locator('.state-ended').first().waitFor({ timeout: 60_000 });

// Afterwards it has a snapshot. Deleting asks first; no is what Escape says.
await page.waitForFunction(async () => {
  const { get } = await import('/page/api.js');
  const { volumes } = await get('/v1/volumes');
  return !volumes[0].usedBy && volumes[0].newest?.bytes > 0;
}, null, { timeout: 120_000, polling: 1000 });
await open(page, 'Volumes');
await row.getByText('1 snapshot').waitFor();
await shot(page, 'volumes', true);
await row.getByRole('button', { name: 'Delete volume data' }).click();
await page.getByRole('dialog').getByText('This cannot be taken back.').waitFor();
await look(page, 'delete a volume');
await page.keyboard.press('Escape');
await row.getByRole('button', { name: 'Delete volume data' }).click();
await page.getByRole('button', { name: 'Delete the volume' }).click();
await page.getByText('There is none.').waitFor({ timeout: 30_000 });
step('deleted');
await end();
