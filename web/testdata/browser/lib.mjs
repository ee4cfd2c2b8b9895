// What the scripts that try the page in a browser share.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

// begin starts a browser for a page of an origin. What must not happen on any of its pages is noted in faults.
export async function begin(executablePath, origin, folder) {
  const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  const contrast = readFileSync(new URL('./contrast.js', import.meta.url), 'utf8');
  const started = Date.now();
  const step = (text) => console.log(`${((Date.now() - started) / 1000).toFixed(1)} s  ${text}`);
  const browser = await chromium.launch({ executablePath, args: process.getuid() === 0 ? ['--no-sandbox'] : [] });
  const faults = [];
  // What a failure leaves on the pages says more than its message.
  process.on('uncaughtException', async (err) => {
    console.error(err);
    for (const p of browser.contexts().flatMap((c) => c.pages())) {
      console.error(`${p.url()}:\n${await p.locator('body').innerText().catch(String)}`);
      if (folder) await p.screenshot({ path: `${folder}/failure.png` }).catch(() => {});
    }
    console.error(faults);
    process.exit(1);
  });

  // tab is a page in a browser of its own.
  async function tab(options = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB', timezoneId: 'UTC', reducedMotion: 'reduce', ...options });
    context.setDefaultTimeout(15_000);
    const page = await context.newPage();
    page.on('pageerror', (e) => faults.push(`error: ${e.message}`));
    page.on('console', (m) => /Content Security Policy|Trusted ?Type/i.test(m.text()) && faults.push(m.text()));
    page.on('dialog', (d) => faults.push(`dialog: ${d.message()}`) && d.dismiss());
    page.on('request', (r) => new URL(r.url()).origin === origin || faults.push(`request to ${r.url()}`));
    return page;
  }

  // copies presses a button that copies, and says what is on the clipboard then.
  async function copies(page, button) {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin });
    await page.evaluate(() => {
      document.getElementById('said').textContent = '';
      return navigator.clipboard.writeText('nothing');
    });
    await button.click();
    await page.waitForFunction(() => document.getElementById('said').textContent === 'Copied');
    return page.evaluate(() => navigator.clipboard.readText());
  }

  // shot takes a picture; of a whole page from its top, where the header is.
  async function shot(page, name, fullPage = false) {
    if (!folder) return;
    await page.evaluate(() => {
      scrollTo(0, 0);
      document.getElementById('toasts')?.replaceChildren(); // the page of signatures has none
    });
    await page.screenshot({ path: `${folder}/${name}.png`, fullPage });
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.screenshot({ path: `${folder}/${name}-dark.png`, fullPage });
    await page.emulateMedia({ colorScheme: 'light' });
  }

  // look has axe-core look a view over, and every text node compared with its ground.
  async function look(page, view) {
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
      const bad = violations.filter((v) => ['serious', 'critical'].includes(v.impact));
      assert.deepEqual(bad.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' ')}`), [], `${view}, ${colorScheme}`);
      assert.deepEqual((await page.evaluate(contrast)).low, [], `${view}, ${colorScheme}: contrast`);
    }
    await page.emulateMedia({ colorScheme: 'light' });
  }

  // end checks that only this server was asked, and that the browser has refused nothing.
  async function end() {
    assert.deepEqual(faults, []);
    await browser.close();
    step('done');
  }
  return { tab, copies, shot, look, step, end };
}

// heading waits for a view, whose heading has its name or is of it; without it, what is shown in its place is told.
export async function heading(page, name, timeout = 15_000) {
  try {
    await page.locator(`h1[data-title="${name}"]`).or(page.getByRole('heading', { level: 1, name, exact: true })).first().waitFor({ timeout });
  } catch (err) {
    throw new Error(`no view ${name}: ${await page.locator('main').innerText()}`, { cause: err });
  }
}

const roles = { Market: 'Rent', Deploy: 'Rent', Leases: 'Rent', Clusters: 'Rent', Endpoints: 'Rent', Volumes: 'Rent', Machines: 'Provide', Earnings: 'Provide', Stake: 'Provide', Calculator: 'Provide', Audit: 'Verify', Keepers: 'Verify', Slashes: 'Verify', Network: 'Verify' };

// open goes to a view by its role and the navigation, or by the account. The view before may have the same heading and the same
// form, until the browser tells the page of its new address: it has to be gone.
export async function open(page, name) {
  const role = roles[name];
  if (role) {
    const tab = page.locator('.roles').getByRole('link', { name: role, exact: true });
    if (await tab.getAttribute('aria-current') !== 'true') await tab.click();
    await page.getByRole('navigation', { name: role, exact: true }).waitFor();
  }
  const link = role ? page.locator('.views').getByRole('link', { name, exact: true }) : page.locator('a.account');
  const elsewhere = new URL(page.url()).hash !== await link.getAttribute('href');
  const before = elsewhere && await page.locator('main > *').first().elementHandle();
  await link.click();
  if (before) await before.waitForElementState('hidden');
  await heading(page, name);
}

// deploy sends the form of Deploy.
export const deploy = (page) => page.locator('aside').getByRole('button', { name: /^Deploy/ }).click();

// advanced opens the rest of the form of Deploy.
export const advanced = (page) => page.locator('details.more > summary', { hasText: 'Advanced' }).click();
