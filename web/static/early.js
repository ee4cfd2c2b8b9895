// Asks for what the market shows while the page's modules are on their way. api.js takes the answers. This file imports nothing, so
// that it runs first.
(() => {
  const token = sessionStorage.getItem('gantry.token');
  const ask = (path) => fetch(path, { headers: token ? { Authorization: `Bearer ${token}` } : {}, cache: 'no-store', credentials: 'omit', redirect: 'error' });
  const about = ask('/page/about');
  const answers = { '/page/about': about };
  if (/^(#\/?|#\/market)?$/.test(location.hash)) {
    const known = about.then((res) => res.clone().json());
    for (const local of [true, false]) {
      const path = `/v1/offers?${new URLSearchParams({ q: local ? '' : 'real', sort: 'award' })}`;
      answers[path] = known.then((a) => a.local === local && (token || a.public) && ask(path));
    }
  }
  for (const path of Object.keys(answers)) answers[path] = answers[path].catch(() => null); // it is asked again, and the error is said then
  globalThis.early = { token, at: Date.now(), answers: new Map(Object.entries(answers)) };
})();
