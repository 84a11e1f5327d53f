/**
 * Chooses which of several processes does work that only one needs to do. It saves work; two holders must do no harm.
 */
export interface Lease {
  /** Takes the lease for `forMs`, or extends it by `forMs`. False while another process holds it. */
  hold(name: string, forMs: number): Promise<boolean>
}
