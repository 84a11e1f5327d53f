/** An unparsed JSON body is not an absent one: a mapping would read undefined. */
import type { Request } from 'express'
import { shownInstead } from './shown-instead.js'

const mapping = new WeakSet<Request>()

/** Thrown when a mapping reads a body that was not parsed. Its code is that of the operator's warning. */
class UnparsedBody extends TypeError {
  readonly code = 'COUNTERSIGN_NO_BODY_PARSER'

  constructor() {
    super('req.body is undefined, although the request has a JSON body: put app.use(express.json()) before the route')
  }
}

/** Any caller can send such a type to a correct app, so it causes no warning. */
class UnparsedKindOfJson extends Error {
  override readonly name = 'UnparsedKindOfJson'

  constructor() {
    super(
      "req.body is undefined: the body is of a type that ends in +json, which express.json() leaves alone. To take it, use express.json({ type: ['json', '+json'] })",
    )
  }
}

/**
 * Runs the mapping of a request.
 *
 * @throws UnparsedBody or UnparsedKindOfJson when it reads a JSON body that was not parsed, and any error of the
 *   mapping
 */
export function whileMapping<Value>(req: Request, map: () => Value): Value {
  if (req.body !== undefined) return map()
  mapping.add(req)
  const get = (): undefined => assertParsed(req)
  try {
    // A frozen body has an accessor with the same check.
    return shownInstead(req, 'body', { get }, map)
  } finally {
    mapping.delete(req)
  }
}

/** Call this where an undefined body is read. @throws during a mapping, if the body was not parsed */
export function assertParsed(req: Request): undefined {
  if (!mapping.has(req)) return
  if (req.is('json')) throw new UnparsedBody()
  if (req.is('+json')) throw new UnparsedKindOfJson()
}
