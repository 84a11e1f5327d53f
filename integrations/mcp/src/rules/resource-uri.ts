/**
 * URIs of resources. A client writes them, so patterns and policies must match what the server acts on, however the server reads
 * URIs. Source: docs/mcp-methods.md "Resources, prompts and other methods".
 */
import { faultOfPath, VISIBLE } from '@countersign/client/kernel'

/** In UTF-16 code units. A resource of the decision point is shorter. */
const MAX_URI = 2_048
/** Types of resources that are not schemes of URIs here. */
const OWN_TYPES: ReadonlySet<string> = new Set(['uri', 'prompt', 'method'])

/** Why a URI is refused: a server could read it differently from a rule. Completes "it …"; undefined for a sound URI. */
export function faultOfUri(uri: string): string | undefined {
  if (uri.length > MAX_URI) return `has more than ${MAX_URI} characters`
  const fault = faultOfCharacters(uri)
  if (fault !== undefined) return fault
  if (!/^[a-z][a-z0-9+.-]*:./.test(uri)) return 'does not begin with a scheme in lower case'
  if (!isCanonical(uri)) return 'is not written as servers read it, for example with an upper-case host or a `..`'
  return faultOfPath(`uri:${uri}`)
}

/** The same for a URI template in `completion/complete`. */
export function faultOfUriTemplate(template: string): string | undefined {
  if (template.length > MAX_URI) return `has more than ${MAX_URI} characters`
  return faultOfCharacters(template) ?? faultOfPath(`uri:${template}`)
}

/**
 * The resource of a URI: the URI itself. A prefix `uri:` is added if the URI is not a resource without it, or if its scheme is `uri`,
 * `prompt` or `method`, so that no two calls share a resource.
 */
export function resourceOfUri(uri: string): string {
  const scheme = /^([A-Za-z0-9_.-]+):./s.exec(uri)?.[1]
  return scheme === undefined || OWN_TYPES.has(scheme.toLowerCase()) ? `uri:${uri}` : uri
}

/** Why a text is not allowed in a resource of the decision point. Completes "it …"; undefined for a sound text. */
export function faultOfCharacters(text: string): string | undefined {
  if (text === '') return 'is empty'
  if (!VISIBLE.test(text)) return 'has control or invisible characters'
  return text.normalize('NFC') === text ? undefined : 'is not in Unicode form NFC'
}

/** Whether a URL parser returns the URI unchanged, except for escaped characters and an empty path. */
function isCanonical(uri: string): boolean {
  // For an unknown scheme, URL does not change the case of the host.
  if (!URL.canParse(uri) || /^[^/?#]*:\/\/[^/?#]*[A-Z]/.test(uri)) return false
  const parsed = escaped(new URL(uri).href)
  return parsed === escaped(uri) || parsed === `${escaped(uri)}/`
}

function escaped(uri: string): string {
  return uri.replace(/[^\x21-\x7e]|["'<>\\^`{|}]/gu, (one) => (one === "'" ? '%27' : encodeURIComponent(one)))
}

/** Patterns of URIs: `*` stands for any characters, including slashes. All other characters match themselves. */
export class UriPatterns<Value> {
  readonly #exact = new Map<string, Value>()
  /** Patterns with more characters besides `*` come first. */
  readonly #patterns: { readonly parts: readonly string[]; readonly value: Value }[] = []

  constructor(patterns: ReadonlyMap<string, Value>) {
    for (const [pattern, value] of patterns) {
      if (pattern.includes('*')) this.#patterns.push({ parts: pattern.split('*'), value })
      else this.#exact.set(pattern, value)
    }
    this.#patterns.sort((one, other) => lengthOf(other.parts) - lengthOf(one.parts))
  }

  get areAny(): boolean {
    return this.#exact.size + this.#patterns.length > 0
  }

  /** The value of the URI itself. Otherwise of the first matching pattern with the most characters besides `*`. */
  find(uri: string): Value | undefined {
    return this.#exact.get(uri) ?? this.#patterns.find(({ parts }) => matches(uri, parts))?.value
  }

  /** The values of all patterns that a URI of this template could match. */
  possibleFor(template: string): Value[] {
    const [known = ''] = template.split('{', 1)
    const isPossible = (start: string): boolean => start.startsWith(known) || known.startsWith(start)
    const exact = [...this.#exact].flatMap(([uri, value]) => (uri.startsWith(known) ? [value] : []))
    return [...exact, ...this.#patterns.flatMap(({ parts, value }) => (isPossible(parts[0] ?? '') ? [value] : []))]
  }
}

function lengthOf(parts: readonly string[]): number {
  return parts.join('').length
}

/** Matches each part at its first place. If any places match, these do. */
function matches(uri: string, parts: readonly string[]): boolean {
  const [first = '', ...rest] = parts
  const last = rest.pop() ?? ''
  if (!uri.startsWith(first)) return false
  let at = first.length
  for (const part of rest) {
    const found = uri.indexOf(part, at)
    if (found === -1) return false
    at = found + part.length
  }
  return uri.length - last.length >= at && uri.endsWith(last)
}
