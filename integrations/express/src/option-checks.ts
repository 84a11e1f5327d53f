/** Reads the options of guards. */
import { knownOptions } from '@countersign/client/kernel'

const TO_GUARD = 'it is an option of guard'
const TO_REQUIRE_PERMIT = 'it is an option of requirePermit'
const OF_THE_REQUEST = 'a route has it of each request by itself'

/** Says where options belong that are not client options, or that have the same name there. */
const OPTION_OF: Readonly<Record<string, string>> = {
  point: TO_GUARD,
  idempotencyKey: TO_GUARD,
  settle: TO_GUARD,
  outcome: TO_GUARD,
  graceMs: TO_GUARD,
  client: `${TO_GUARD}; requirePermit takes singleUse: { redeem: client }`,
  issuer: TO_REQUIRE_PERMIT,
  audience: TO_REQUIRE_PERMIT,
  jwks: TO_REQUIRE_PERMIT,
  keys: 'requirePermit takes jwks: { keys }',
  requestHash: TO_REQUIRE_PERMIT,
  effects: TO_REQUIRE_PERMIT,
  singleUse: TO_REQUIRE_PERMIT,
  maxSeen: TO_REQUIRE_PERMIT,
  header: TO_REQUIRE_PERMIT,
  holder: OF_THE_REQUEST,
  signal: OF_THE_REQUEST,
  amount: 'report the real cost of an action with req.permit.confirm({ amount })',
}

/** @throws TypeError for anything but an object, and for an unknown member: the message says where it belongs */
export function checkKnown<Options>(
  of: 'guard' | 'requirePermit' | 'webhookReceiver',
  options: Options,
  known: readonly string[],
): Options {
  return knownOptions(of, options, known, OPTION_OF)
}

/** @throws TypeError */
export function checkOne(name: string, isRight: boolean, wanted: string): void {
  if (!isRight) throw new TypeError(`${name} must be ${wanted}`)
}

/** @throws TypeError unless the option is a function or of one of these types */
export function checkFromRequest(name: string, given: unknown, types: readonly string[]): void {
  checkOne(
    name,
    typeof given === 'function' || types.includes(typeof given),
    `${types[0]} or a function of the request`,
  )
}

export function isFunctionOrNone(given: unknown): boolean {
  return given === undefined || typeof given === 'function'
}
