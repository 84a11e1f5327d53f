const FORMAT = new Intl.NumberFormat('en', { maximumFractionDigits: 6 })

/** Formats an amount with all of its decimals and its unit: `1,234.5 eur`. */
export function amountText(amount: number, unit: string): string {
  return `${FORMAT.format(amount)} ${unit}`
}

export function Amount({ amount, unit }: { readonly amount: number; readonly unit: string }) {
  return <span style={{ fontVariantNumeric: 'tabular-nums' }}>{amountText(amount, unit)}</span>
}
