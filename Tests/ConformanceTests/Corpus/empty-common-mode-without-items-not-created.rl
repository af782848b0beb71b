topic empty
title Marking a name as common does not create the mode
addcommon m1
modes
run m1 1 no
--- golden
modes = default
run m1
ran m1 FINISHED
end
