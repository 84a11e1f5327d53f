/** `@countersign/client/verify`: tries out a guard on your own set-up. Source: docs/enforcement.md "Verify your guard". */
export {
  type GuardCanary,
  type GuardCheck,
  type GuardCheckName,
  type GuardVerification,
  type VerifyGuardOptions,
  verifyGuard,
} from './enforcement/self-test/verify-guard.js'
