// What the accessible names and colours of a page must be, as far as a script can tell. Shadow roots are looked into. test_page.py runs it in each state.
() => {
  const all = [];
  const walk = (root) => { for (const e of root.querySelectorAll('*')) { all.push(e); if (e.shadowRoot) walk(e.shadowRoot); } };
  walk(document);
  const seen = (e) => { const b = e.getBoundingClientRect(); const s = getComputedStyle(e); return b.width > 1 && b.height > 1 && s.visibility !== 'hidden' && s.opacity !== '0' && b.left < innerWidth && b.top < innerHeight && b.right > 0; };
  const nameOf = (e) => (e.getAttribute('aria-label') || (e.getAttribute('aria-labelledby') || '').split(' ').map((id) => document.getElementById(id)?.textContent).join(' ').trim() || e.labels?.[0]?.textContent || e.alt || e.textContent || '').trim();
  const nameless = all.filter((e) => seen(e) && e.matches('button, input, select, textarea, a[href], [role=grid], [role=tree], [role=tab], [role=textbox], [role=tablist], dialog, [role=menu], img:not([alt=""])') && !nameOf(e)).map((e) => e.outerHTML.slice(0, 120));
  const ids = all.map((e) => e.id).filter(Boolean);
  const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
  const numbers = (c) => { const canvas = numbers.c ??= new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true }); canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = c; canvas.fillRect(0, 0, 1, 1); const d = canvas.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
  const over = (a, b) => a.slice(0, 3).map((v, i) => v * a[3] + b[i] * (1 - a[3]));
  const back = (e) => { const layers = []; for (let n = e; n; n = n.parentElement ?? n.getRootNode().host) { const c = numbers(getComputedStyle(n).backgroundColor); if (c[3] > 0) layers.push(c); if (c[3] === 1) break; } return layers.reverse().reduce((under, c) => [...over(c, under), 1], [255, 255, 255, 1]); };
  const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const faint = [];
  let checked = 0;
  for (const e of all) {
    const isSvg = e.tagName === 'text';
    const text = [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data).join('').trim();
    if (!text || !seen(e) || e.closest('[disabled], noscript, .unseen, .skip, script, style')) continue;
    const style = getComputedStyle(e);
    const under = back(e);
    const front = over(numbers(isSvg ? style.fill : style.color), under);
    const [a, b] = [light(front), light(under)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    checked++;
    if (ratio < 4.5) faint.push(`${ratio.toFixed(2)} ${e.tagName}.${e.className.baseVal ?? e.className} ${text.slice(0, 30)}`);
  }
  return { nameless, twice, faint, checked, lang: document.documentElement.lang, headings: document.querySelectorAll('h1').length };
}
