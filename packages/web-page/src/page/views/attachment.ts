/** A picture that goes with a prompt. */

export interface Attachment {
  readonly name: string;
  readonly block: { readonly type: "image"; readonly mimeType: string; readonly data: string };
}

const PICTURE_BYTES = 4 * 1024 * 1024;

/** Throws for a file that is none, or is too large. */
export async function readPicture(file: File): Promise<Attachment> {
  if (!/^image\/(png|jpeg|gif|webp)$/.test(file.type))
    throw new Error(`${file.name} is not a picture that models read`);
  if (file.size > PICTURE_BYTES) throw new Error(`${file.name} is larger than 4 MiB`);
  const address = await new Promise<string>((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(new Error(`${file.name} cannot be read`));
    reader.readAsDataURL(file);
  });
  const data = address.slice(address.indexOf(",") + 1);
  return { name: file.name || "picture", block: { type: "image", mimeType: file.type, data } };
}
