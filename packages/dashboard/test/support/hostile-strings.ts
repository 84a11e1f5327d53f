/** Strings that an agent or a user could send to break a page or to run a script in it. */
import LIST from 'big-list-of-naughty-strings/blns.json' with { type: 'json' }

/** Sets a mark that shows that a script has run. */
const RUN = 'window.__ran=1'

const PAYLOADS = [
  `<script>${RUN}</script>`,
  `<img src=x onerror="${RUN}">`,
  `<svg onload=${RUN}>`,
  `<iframe srcdoc="<script>parent.${RUN}</script>">`,
  `<a href="javascript:${RUN}">click</a>`,
  `javascript:${RUN}//`,
  `data:text/html,<script>${RUN}</script>`,
  `<details open ontoggle=${RUN}>`,
  `<math><mtext><style><img src=x onerror=${RUN}></style></mtext></math>`,
  `{{constructor.constructor('${RUN}')()}}`,
  `<form action="javascript:${RUN}"><button>go</button></form>`,
  `<link rel=stylesheet href="data:text/css,*{background:url(//evil.example)}">`,
] as const

/** Each as it is, and breaking out of an attribute, a script, a comment or a template. */
const WRAPPERS = [
  (text: string) => text,
  (text: string) => `">${text}`,
  (text: string) => `</script>${text}`,
  (text: string) => `--></textarea></title>${text}`,
  (text: string) => `\`\${'${text}'}\``,
] as const

/** 60 strings that would run a script, or load something, if text were parsed as markup. */
export const XSS: readonly string[] = PAYLOADS.flatMap((payload) => WRAPPERS.map((wrap) => wrap(payload)))

/** Directions, marks and joiners that hide text, in addition to those of the list. */
const HIDING = Array.from({ length: 60 }, (_, i) => {
  const marks = ['\u202e', '\u2066', '\u200b', '\u00ad', '\ufeff', '\u2028', '\u3164', '\u034f', '\u200d', '\ue000']
  return `pay ${marks[i % marks.length]}${i} EUR`
})

/** More than 500 strings that break programs which misinterpret text. */
export const NAUGHTY: readonly string[] = [...LIST, ...HIDING].filter((text) => text !== '' && text.isWellFormed())
