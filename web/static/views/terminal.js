// A shell in a lease's container.
import { webSocket } from '../api.js';
import { el, fill, say } from '../dom.js';
import { Screen } from '../screen.js';
import { problem } from '../show.js';

// keys are what keys send that are no characters; letters after ESC [ become ESC O while a program asks for it.
const keys = {
  Enter: '\r', Backspace: '\x7f', Tab: '\t', Escape: '\x1b', ArrowUp: '\x1b[A', ArrowDown: '\x1b[B', ArrowRight: '\x1b[C', ArrowLeft: '\x1b[D', Home: '\x1b[H', End: '\x1b[F',
  Insert: '\x1b[2~', Delete: '\x1b[3~', PageUp: '\x1b[5~', PageDown: '\x1b[6~', F1: '\x1bOP', F2: '\x1bOQ', F3: '\x1bOR', F4: '\x1bOS', F5: '\x1b[15~', F6: '\x1b[17~',
  F7: '\x1b[18~', F8: '\x1b[19~', F9: '\x1b[20~', F10: '\x1b[21~', F11: '\x1b[23~', F12: '\x1b[24~',
};

// typed is what a key sends; undefined for what the browser keeps.
export function typed(e, cursorKeys) {
  if (e.metaKey || (e.shiftKey && e.key === 'Tab')) return undefined;
  if (e.ctrlKey && e.shiftKey) return undefined; // copy and paste
  let text = keys[e.key];
  if (text && cursorKeys && /^\x1b\[[A-DHF]$/.test(text)) text = `\x1bO${text.at(-1)}`;
  if (!text && e.key.length === 1) {
    text = e.key;
    if (e.ctrlKey) {
      const n = e.key.toUpperCase().charCodeAt(0);
      if (n >= 0x40 && n <= 0x5f) text = String.fromCharCode(n - 0x40);
      else if (e.key === ' ') text = '\0';
      else return undefined;
    }
  }
  return text && e.altKey && !e.ctrlKey ? `\x1b${text}` : text;
}

// runs are the parts of a line that look the same.
function runs(line, cursor) {
  const out = [];
  line.forEach(({ c, s }, x) => {
    const style = x === cursor ? `${s} at` : s;
    if (out.length && out.at(-1).style === style) out.at(-1).text += c;
    else out.push({ style, text: c });
  });
  return out.map(({ style, text }) => (style ? el('span', { class: style.split(' ').map((k) => `t-${k}`).join(' ') }, text) : text));
}

// terminal shows the way into a lease's container.
export function terminal(lease, signal) {
  const box = el('div');
  const start = el('button', { type: 'button', class: 'btn', on: { click: () => connect() } }, 'Open a terminal');
  const draw = (...what) => fill(box, ...what);
  draw(start);

  function connect() {
    const view = el('div', { class: 'screen', role: 'presentation' });
    const input = el('textarea', { class: 'typed', 'aria-label': 'Terminal: what is typed goes to the shell; Shift+Tab leaves it', autocomplete: 'off', spellcheck: 'false', rows: 1 });
    const frame = el('div', { class: 'terminal' }, view, input);
    const state = el('p', { role: 'status', class: 't3 small' }, 'Connecting to the container.');
    const close = el('button', { type: 'button', class: 'btn sm' }, 'Close the terminal');
    draw(frame, state, el('div', { class: 'buttons' }, close));
    const socket = webSocket(`/page/leases/${encodeURIComponent(lease)}/terminal`);
    const send = (text) => socket.readyState === 1 && socket.send(new TextEncoder().encode(text));
    const size = () => {
      const probe = el('span', {}, 'M'.repeat(20));
      view.append(probe);
      const { width, height } = probe.getBoundingClientRect();
      probe.remove();
      return { columns: Math.max(20, Math.min(300, Math.floor((frame.clientWidth - 24) / (width / 20)))), rows: 24, height };
    };
    const first = size();
    const screen = new Screen(first.columns, first.rows, send);
    let due = false;
    const show = () => {
      if (due) return;
      due = true;
      requestAnimationFrame(() => {
        due = false;
        const shown = [...screen.scrolled.slice(-500), ...screen.lines];
        const at = shown.length - screen.lines.length + screen.y;
        const low = view.scrollTop + view.clientHeight >= view.scrollHeight - 4;
        view.replaceChildren(...shown.map((line, y) => el('div', {}, runs(line, y === at && screen.modes.cursor ? screen.x : -1))));
        if (low) view.scrollTop = view.scrollHeight;
      });
    };
    const decoder = new TextDecoder();
    const ended = (p) => {
      input.remove();
      observer.disconnect();
      fill(state, 'The terminal is closed.');
      close.remove();
      box.append(...(p ? [problem({ body: p })] : []), el('div', { class: 'buttons' }, el('button', { type: 'button', class: 'btn', on: { click: connect } }, 'Open another')));
    };
    let over = false;
    const end = (p) => {
      if (!over) ended(p);
      over = true;
      socket.close();
    };
    socket.addEventListener('open', () => socket.send(JSON.stringify({ columns: screen.columns, rows: screen.rows })));
    socket.addEventListener('message', ({ data }) => {
      if (typeof data === 'string') {
        const e = JSON.parse(data);
        if (e.ended) end(e.problem);
        return;
      }
      if (state.textContent) {
        fill(state);
        say('The terminal is open.');
      }
      screen.write(decoder.decode(data, { stream: true }));
      show();
    });
    socket.addEventListener('close', () => end({ title: 'Closed', detail: 'the connection to the terminal is gone', nextStep: 'open another; what ran in it has ended' }));
    signal.addEventListener('abort', () => end());
    close.addEventListener('click', () => end());
    const observer = new ResizeObserver(() => {
      const { columns, rows } = size();
      if (columns === screen.columns) return;
      screen.resize(columns, rows);
      if (socket.readyState === 1) socket.send(JSON.stringify({ columns, rows }));
      show();
    });
    observer.observe(frame);
    input.addEventListener('keydown', (e) => {
      if (e.isComposing) return;
      const text = typed(e, screen.modes.cursorKeys);
      if (text === undefined) return;
      e.preventDefault();
      send(text);
    });
    input.addEventListener('input', (e) => { // what was composed
      if (e.isComposing) return;
      send(input.value);
      input.value = '';
    });
    input.addEventListener('compositionend', () => {
      send(input.value);
      input.value = '';
    });
    input.addEventListener('paste', (e) => {
      e.preventDefault();
      const text = e.clipboardData.getData('text').replace(/\r?\n/g, '\r').replaceAll('\x1b', '');
      send(screen.modes.paste ? `\x1b[200~${text}\x1b[201~` : text);
    });
    view.addEventListener('click', () => String(getSelection()) || input.focus());
    input.focus();
    show();
  }
  return box;
}
