/** What readers are told of records they will never get, in one sentence. */
export function describeLoss(first: number, last: number): string {
  return first === last ? `record ${first} cannot be read` : `records ${first} to ${last} cannot be read`;
}
