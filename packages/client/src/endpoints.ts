/** The endpoints of the contract. The build writes them out as plain data, so that the package has no dependency. */
export * from '@countersign/contract/endpoints'
