/** Which of several processes does the work that one is enough for. It saves work; nothing may go wrong when two hold it. */
export interface Lease {
  /** Takes the lease for so long, or holds it for so long again. False while another process holds it. */
  hold(name: string, forMs: number): Promise<boolean>
}
