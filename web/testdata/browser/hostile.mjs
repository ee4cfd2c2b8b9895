// Texts of strangers: a view is shown with hostile ones in place of all that the chain says.
import assert from 'node:assert/strict';

export const hostile = `<img src=x onerror=alert(1)><b class="evil">&lt;"'\u202E javascript:alert(1)`;

const poison = (v) => {
  if (Array.isArray(v)) return v.map((x) => poison(x));
  if (v && typeof v === 'object') return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, poison(x)]));
  return typeof v === 'string' ? hostile : v;
};

// poisoned makes every text of the server's answers hostile while views are looked at, each by its place in the address.
export async function poisoned(page, origin, views) {
  const answers = new RegExp(`^${origin}/(v1/|page/(about|funds|keepers))`);
  await page.route(answers, async (route) => {
    try {
      const res = await route.fetch();
      await route.fulfill({ response: res, json: poison(await res.json()) });
    } catch { /* the page is loaded anew, and asks again */ }
  });
  for (const view of views) {
    await page.goto(`${origin}/#/${view}`);
    await page.reload();
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForFunction((text) => document.querySelector('main').textContent.includes(text), hostile);
    assert.equal(await page.locator('main img, main script, main .evil, main iframe').count(), 0, view);
    assert.equal(await page.locator('main a:not([href^="#/"])').count(), 0, view);
  }
  await page.unroute(answers);
}
