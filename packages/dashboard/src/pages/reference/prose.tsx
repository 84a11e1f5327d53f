import { useCatalogue } from './document-context'

/** A sentence of the document. Text in backticks is code, and an error code links to its page. */
export function Prose({ text }: { readonly text: string }) {
  const { codes } = useCatalogue()
  return text.split('`').map((part, index) => {
    // biome-ignore-start lint/suspicious/noArrayIndexKey: the parts of a text do not move
    if (index % 2 === 0) return <span key={index}>{part}</span>
    const code = <code key={index}>{part}</code>
    return codes.has(part) ? (
      <a key={index} href={`/docs/errors#${part}`}>
        {code}
      </a>
    ) : (
      code
    )
    // biome-ignore-end lint/suspicious/noArrayIndexKey: the parts of a text do not move
  })
}
