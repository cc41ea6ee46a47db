/** `@chimera/host/people`: the list of people who may call a server. */
export { addPerson, fileList, isPersonName, type ListPlace, parsePeople, removePerson } from "./people/people-list.js";
