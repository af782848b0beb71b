topic empty
title Observers do not keep a mode alive and are not called for an empty mode
observer O all
add O default
run default 1 no
--- golden
run default
ran default FINISHED
end
