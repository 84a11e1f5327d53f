/** `@countersign/client/verify`: tests a guard in your own setup. Source: docs/enforcement.md "Verify your guard". */
export {
  type GuardCanary,
  type GuardCheck,
  type GuardCheckName,
  type GuardVerification,
  type VerifyGuardOptions,
  verifyGuard,
} from './enforcement/self-test/verify-guard.js'
