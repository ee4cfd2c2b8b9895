// Looks at the contrast of every text node of a page, and at what is wider than it. Its value is what is wrong.
(() => {
  const cv = document.createElement('canvas'); cv.width = cv.height = 1; const cx = cv.getContext('2d', { willReadFrequently: true });
  const rgba = (c) => { cx.clearRect(0, 0, 1, 1); cx.fillStyle = '#000'; cx.fillStyle = c; cx.fillRect(0, 0, 1, 1); const d = cx.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
  const lum = ([r, g, b]) => { const k = (x) => { x /= 255; return x <= .03928 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4; }; return .2126 * k(r) + .7152 * k(g) + .0722 * k(b); };
  const over = (a, b) => [0, 1, 2].map((k) => a[k] * a[3] + b[k] * (1 - a[3])).concat(1);
  const ground = (e) => { const st = []; for (let x = e; x; x = x.parentElement) { const c = rgba(getComputedStyle(x).backgroundColor); if (c[3] > 0) { st.push(c); if (c[3] === 1) break; } } let g = [255, 255, 255, 1]; for (const c of st.reverse()) g = over(c, g); return g; };
  const low = new Map(); let n = 0; const w = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (w.nextNode()) { const t = w.currentNode, e = t.parentElement; if (!t.data.trim() || e.closest('symbol,title,style,.sprite,.unseen')) continue; const s = getComputedStyle(e); if (!e.getClientRects().length || s.visibility === 'hidden') continue;
    const svg = e.namespaceURI.includes('svg'); if (svg && e.dataset.on) continue; const fg = rgba(svg ? s.fill : s.color), bg = ground(e); const f = over(fg, bg); const a = lum(f), b = lum(bg); const r = (Math.max(a, b) + .05) / (Math.min(a, b) + .05); n++; if (r < 4.5) low.set(`${r.toFixed(2)} ${e.tagName}.${(e.getAttribute('class') || '')} "${t.data.trim().slice(0, 24)}"`, 1); }
 
  const wide = [...document.querySelectorAll('body *')].filter((e) => !e.closest('.models,.filters,.sprite,svg,.log,.term,.tries,.sx,.tabs,.tbl') && e.getBoundingClientRect().right > innerWidth + 1 && getComputedStyle(e).position !== 'absolute').slice(0, 3).map((e) => `${e.tagName}.${e.className}`);
  return { low: [...low.keys()], n, height: Math.ceil(document.documentElement.scrollHeight), overflow: document.documentElement.scrollWidth > innerWidth || wide.length ? `${document.documentElement.scrollWidth}: ${wide}` : '' };
})()
