import Story

try Story.tell()
