import { PERMIT_ERROR_CODES, PermitError } from '@countersign/permit'
import { describe, expect, it } from 'vitest'
import { denialOf } from './denial-of.js'
import { PERMIT_SENTENCES, ROUTE_SENTENCES, type RouteDeniedCode } from './refusal-sentences.js'
import { RouteDeniedError } from './route-denied-error.js'

describe('the sentences of refusals', () => {
  it.each(Object.entries(ROUTE_SENTENCES))('%s says what happened and what to do next', (given, sentence) => {
    const code = given as RouteDeniedCode
    expect(sentence).toMatch(/^[A-Z].+\. [A-Z].+\.$/)
    expect(new RouteDeniedError({ code, status: 403 }).toProblem().detail).toBe(sentence)
  })

  it.each(PERMIT_ERROR_CODES)('%s is said of a permit where it is of a permit', (code) => {
    const denial = denialOf(new PermitError(code, 'for the operator'))
    expect((denial as RouteDeniedError).toProblem().detail).toBe(PERMIT_SENTENCES[code])
  })
})
